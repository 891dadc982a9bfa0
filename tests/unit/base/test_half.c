/* The 16-bit floats: every one of them there and back, roundings against the definition. */
#include "base/half.h"

#include <math.h>

#include "support/files.h"

struct format {
    float (*widen)(uint16_t half);
    uint16_t (*narrow)(float f);
    int exponent_bits, fraction_bits;
};
static const struct format formats[] = {
    {float_of_bf16, bf16_of_float, 8, 7},
    {float_of_f16, f16_of_float, 5, 10},
};

/* The value that the bits mean. */
static double meaning(const struct format *f, uint16_t half) {
    int bias = (1 << (f->exponent_bits - 1)) - 1;
    int exponent = half >> f->fraction_bits & ((1 << f->exponent_bits) - 1);
    double fraction = (half & ((1 << f->fraction_bits) - 1)) / pow(2, f->fraction_bits);
    double sign = half >> 15 ? -1 : 1;
    if (exponent == (1 << f->exponent_bits) - 1)
        return fraction != 0 ? NAN : sign * INFINITY;
    return sign * (exponent ? ldexp(1 + fraction, exponent - bias) : ldexp(fraction, 1 - bias));
}

static void every_number_means_what_its_bits_say(void **state) {
    (void)state;
    for (size_t k = 0; k < sizeof formats / sizeof *formats; k++)
        for (uint32_t h = 0; h < 0x10000; h++) {
            double want = meaning(&formats[k], (uint16_t)h);
            float got = formats[k].widen((uint16_t)h);
            assert_true(isnan(want) ? isnan(got) : want == (double)got);
            if (!isnan(want))
                assert_int_equal(formats[k].narrow(got), h);
            else
                assert_true(isnan(formats[k].widen(formats[k].narrow(got))));
        }
}

/* Between two neighbours: below the middle to the lower, above it to the upper, on it to the even.
 */
static void what_lies_between_goes_to_the_nearest(void **state) {
    (void)state;
    for (size_t k = 0; k < sizeof formats / sizeof *formats; k++)
        for (uint32_t h = 0; h < 0x8000; h++) {
            const struct format *f = &formats[k];
            double low = meaning(f, (uint16_t)h), high = meaning(f, (uint16_t)(h + 1));
            if (!isfinite(low) || !isfinite(high))
                continue;
            float middle = (float)((low + high) / 2);
            assert_true((double)middle == (low + high) / 2);
            assert_int_equal(f->narrow(middle), h + (h & 1));
            assert_int_equal(f->narrow(nextafterf(middle, 0)), h);
            assert_int_equal(f->narrow(nextafterf(middle, INFINITY)), h + 1);
            assert_int_equal(f->narrow(-middle), 0x8000 | (h + (h & 1)));
        }
}

static void what_is_too_large_is_infinite(void **state) {
    (void)state;
    assert_int_equal(f16_of_float(65519.996f), 0x7bff);
    assert_int_equal(f16_of_float(65520), 0x7c00);
    assert_int_equal(f16_of_float(-1e30f), 0xfc00);
    assert_int_equal(bf16_of_float(3.4028235e38f), 0x7f80);
    assert_int_equal(bf16_of_float(-3.3895314e38f), 0xff7f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_number_means_what_its_bits_say),
        cmocka_unit_test(what_lies_between_goes_to_the_nearest),
        cmocka_unit_test(what_is_too_large_is_infinite),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
