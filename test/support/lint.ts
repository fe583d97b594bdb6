import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';

export interface Lint {
  totals: { errors: number; warnings: number; ignored: number };
  problems: { ruleId: string; message: string }[];
}

/** Redocly's verdict on an OpenAPI or AsyncAPI document, by its recommended rules alone; it stays off the network. */
export async function lint(document: object): Promise<Lint> {
  const cli = resolve('node_modules/@redocly/cli/bin/cli.js');
  const folder = await mkdtemp(join(tmpdir(), 'chartledger-lint-'));
  const env = {
    ...process.env,
    NODE_OPTIONS: '',
    REDOCLY_TELEMETRY: 'off',
    REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true',
    REDOCLY_SUPPRESS_NOTIFICATIONS: 'true',
  };
  try {
    await writeFile(join(folder, 'document.json'), JSON.stringify(document));
    const args = [cli, 'lint', 'document.json', '--extends', 'recommended', '--format', 'json'];
    // It ends with 1 when there are errors, which it has told by then.
    const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: folder, env }).catch(
      (error: { stdout: string }) => error,
    );
    return JSON.parse(stdout);
  } finally {
    await rm(folder, { recursive: true });
  }
}
