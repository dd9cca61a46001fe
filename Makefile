# The commands of the README. Each installs what is missing first.
BUILD := build/release
JOBS := $(shell nproc)

.PHONY: build test demo bench format check deps

build: deps
	@cmake --preset release > /dev/null
	@cmake --build --preset release -j $(JOBS)

deps:
	@scripts/install-deps

test: build
	@ctest --test-dir $(BUILD) --output-on-failure -j $(JOBS)

check:
	@scripts/check-includes
	@scripts/check-format

format:
	@git ls-files '*.h' '*.cpp' | xargs clang-format -i
