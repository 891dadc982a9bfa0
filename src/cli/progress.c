/* Progress of training on stderr: a bar that redraws itself on a terminal, a line now and then
 * elsewhere, so that a log stays a log. */
#include "cli/cli.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

static const double redraw_seconds = 0.05, line_seconds = 5;
enum { LINE_LIMIT = 512, BAR_LIMIT = 40, BAR_LEAST = 8 };

static double now_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int terminal_columns(void) {
    struct winsize size;
    if (!ioctl(STDERR_FILENO, TIOCGWINSZ, &size) && size.ws_col > 0)
        return size.ws_col;
    const char *columns = getenv("COLUMNS");
    int given = columns ? atoi(columns) : 0;
    return given > 0 ? given : 80;
}

void progress_start(struct progress *progress, const struct settings *settings) {
    const char *terminal = getenv("TERM");
    bool capable = isatty(STDERR_FILENO) && !(terminal && !strcmp(terminal, "dumb"));
    bool mixed = settings->json && isatty(STDOUT_FILENO); /* the bar would run into the JSON */
    *progress = (struct progress){
        .bar = capable && !settings->quiet && !mixed,
        .lines = !capable && !settings->quiet && !settings->json,
        .every = settings->run.log_interval > 0,
        .shown_seconds = now_seconds(),
    };
}

void progress_clear(struct progress *progress) {
    if (progress->drawn)
        fputs("\r\033[K", stderr);
    progress->drawn = false;
}

static void draw_bar(struct progress *progress, const struct neap_event *event, const char *facts) {
    char head[64], line[LINE_LIMIT], bar[BAR_LIMIT + 1];
    double done = event->updates_per_epoch > 0
                      ? (double)event->update_in_epoch / (double)event->updates_per_epoch
                      : 0;
    int columns = terminal_columns() - 1; /* the last column would wrap */
    snprintf(head, sizeof head, "epoch %lld/%lld", (long long)event->epoch,
             (long long)event->epochs);
    int room = columns - (int)strlen(head) - (int)strlen(facts) - 4;
    int width = room > BAR_LIMIT ? BAR_LIMIT : room;
    if (width < BAR_LEAST) {
        snprintf(line, sizeof line, "%s %s", head, facts);
        fprintf(stderr, "\r%.*s\033[K", columns, line);
    } else {
        int filled = (int)(fmin(fmax(done, 0), 1) * width);
        memset(bar, '-', (size_t)width);
        memset(bar, '#', (size_t)filled);
        bar[width] = 0;
        bool colour = text_in_colour(stderr);
        fprintf(stderr, "\r%s [%s%s%s] %s\033[K", head, colour ? "\033[32m" : "", bar,
                colour ? "\033[0m" : "", facts);
    }
    fflush(stderr);
    progress->drawn = true;
}

void progress_show(struct progress *progress, const struct neap_event *event) {
    double now = now_seconds(), since = now - progress->shown_seconds;
    bool last = event->update_in_epoch == event->updates_per_epoch;
    bool due = progress->bar ? since >= redraw_seconds || !progress->drawn || last
                             : progress->lines && (progress->every || since >= line_seconds);
    if (!due)
        return;
    progress->shown_seconds = now;
    char facts[LINE_LIMIT / 2];
    double rate = event->images_per_second;
    snprintf(facts, sizeof facts, "%lld/%lld loss %.4f top1 %.2f%% %.0f images/s",
             (long long)event->update_in_epoch, (long long)event->updates_per_epoch,
             event->train_loss, event->train_top1, isfinite(rate) ? rate : 0);
    if (progress->bar)
        draw_bar(progress, event, facts);
    else
        fprintf(stderr, "epoch %lld/%lld update %s lr %.4g\n", (long long)event->epoch,
                (long long)event->epochs, facts, event->lr);
}
