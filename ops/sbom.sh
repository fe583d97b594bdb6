#!/usr/bin/env bash
# Prints the bill of materials of what the service runs with, in CycloneDX, from package-lock.json. Not by `npm sbom --omit dev`: that leaves
# out what a development dependency needs as well.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/chartledger" # npm names what the bill is of after its folder
cp package.json package-lock.json .npmrc "$folder/chartledger"
cd "$folder/chartledger"
npm pkg delete devDependencies
npm install --package-lock-only --offline --ignore-scripts --no-audit --no-fund >&2
npm sbom --sbom-format cyclonedx --sbom-type application --package-lock-only
