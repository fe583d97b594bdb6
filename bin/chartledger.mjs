#!/usr/bin/env node
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import module, { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isNewEnough, refuseNode } from './node24.mjs';

// Plain JavaScript for any Node from 18 on. The program itself needs Node 24: on an older one, this starts the
// Node 24 that came with the package and is only its go-between.

const require = createRequire(import.meta.url);

/** The Node 24 among the package's dependencies; undefined where none is made for the platform. */
function bundledNode() {
  try {
    const manifest = require.resolve(`node-${process.platform}-${process.arch}/package.json`);
    return join(dirname(manifest), 'bin', 'node');
  } catch {
    return undefined;
  }
}

/** Runs this file again on another Node; stdio, signals and the exit code are the other's. */
function runAgainOn(node) {
  const child = spawn(node, [fileURLToPath(import.meta.url), ...process.argv.slice(2)], { stdio: 'inherit' });
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'];
  for (const signal of signals) process.on(signal, () => child.kill(signal));
  for (const signal of ['SIGUSR1', 'SIGUSR2']) process.on(signal, () => undefined);
  child.on('error', (error) => {
    process.stderr.write(`chartledger: ${node} did not start (${error.code}).\n`);
    process.exit(1);
  });
  child.on('exit', (code, signal) => {
    if (signal === null) process.exit(code);
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
}

/** The program: the sources in a clone, what was built of them in the published package. */
function program() {
  const source = new URL('../src/cli/main.ts', import.meta.url);
  return existsSync(source) ? source : new URL('../dist/src/cli/main.js', import.meta.url);
}

/**
 * Keeps compiled modules within the package, for its threads too: a command starts in less than half of the time. Whoever could plant
 * something there could change the package itself; where the folder cannot be written, nothing is kept.
 */
function keepCompiled() {
  process.env.NODE_COMPILE_CACHE ||= fileURLToPath(
    new URL('../node_modules/.cache/compiled', import.meta.url),
  );
  module.enableCompileCache();
}

if (isNewEnough) {
  keepCompiled();
  await import(program().href);
} else {
  const node = bundledNode();
  if (node) runAgainOn(node);
  else refuseNode();
}
