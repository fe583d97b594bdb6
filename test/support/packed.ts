import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { temporaryFolder } from './cli.ts';

const run = promisify(execFile);

/**
 * Packs a package of this repository, as it would be published, out of copies of its `files`, and installs it into an empty folder,
 * whose path it gives: the build would otherwise leave its output among the sources.
 */
export async function installPacked(folder: string, files: readonly string[]): Promise<string> {
  const root = temporaryFolder();
  const [copy, application] = [join(root, 'copy'), join(root, 'application')];
  mkdirSync(copy);
  mkdirSync(application);
  for (const name of files) cpSync(join(folder, name), join(copy, name), { recursive: true });
  symlinkSync(resolve('node_modules'), join(copy, 'node_modules'));
  await run('npm', ['pack', '--pack-destination', root], { cwd: copy });
  const [archive = ''] = readdirSync(root).filter((name) => name.endsWith('.tgz'));
  writeFileSync(join(application, 'package.json'), '{"private": true, "type": "module"}');
  const options = ['--prefer-offline', '--no-audit', '--no-fund'];
  await run('npm', ['install', ...options, join(root, archive)], { cwd: application });
  return application;
}
