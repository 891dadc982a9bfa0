# A thin front: CMakeLists.txt is the only list of sources.
PREFIX ?= /usr/local

build:
	@scripts/setup.sh --check build
	@scripts/build.sh release

demo:
	@scripts/setup.sh demo
	@scripts/build.sh release
	@scripts/demo.sh

test:
	@scripts/setup.sh test
	@scripts/test.sh

install: build
	cmake --install build/release --prefix $(PREFIX)

format:
	@scripts/format.sh

clean:
	rm -rf build

.PHONY: build demo test install format clean
