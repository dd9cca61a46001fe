# The commands of the README. Each installs what is missing first.
BUILD := build/release
JOBS := $(shell nproc)

.PHONY: build program test demo bench format check deps python package python-deps

build: deps
	@cmake --preset release > /dev/null
	@cmake --build --preset release -j $(JOBS)

# The program alone: a third of the compiling.
program: deps
	@cmake --preset release > /dev/null
	@cmake --build --preset release --target spex -j $(JOBS)

deps:
	@scripts/install-deps

test: build
	@ctest --test-dir $(BUILD) --output-on-failure -j $(JOBS)

# Both phases on a generated field of mines; prints the metric and the path of the report.
demo: program
	@rm -rf runs/demo
	@$(BUILD)/spex train minesweeper --out runs/demo

# Each program prints rates, and the limits measured in the same run. bench/reproduce, bench/scale and
# bench/studies and bench/accuracy, which train, are commands of their own.
bench: build
	@for program in $(BUILD)/*_bench; do \
	  case $$program in */reproduce_bench | */scale_bench | */accuracy_bench) continue ;; esac; \
	  echo "== $${program##*/}"; $$program || exit 1; done

# The Python package, in a virtual environment that sees Debian's NumPy.
python: deps python-deps
	@scripts/make-python

# A .deb, a wheel, and the program as one file, in build/package.
package: deps python-deps
	@scripts/make-package

python-deps:
	@scripts/install-deps --python

check:
	@scripts/check-includes
	@scripts/check-format

format:
	@git ls-files '*.h' '*.cpp' | xargs clang-format -i
