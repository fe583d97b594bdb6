import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';

interface Lint {
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

const page = readFileSync('docs/operate/runbook.md', 'utf8');

/** The sections of the runbook, each named after its alert. */
export const runbookSections = [...page.matchAll(/^## (.+)$/gm)].map(([, title]) => title as string);

/** The commands of `chartledger` that a part of an alert's section names, in their order. */
export function runbookCommands(alert: string, part: 'Look' | 'Fix'): string[][] {
  const section = page.split(/^## /m).find((text) => text.startsWith(`${alert}\n`));
  const text = section?.split(`**${part}.**`)[1]?.split('\n**')[0];
  if (text === undefined) throw new Error(`the runbook has no part ${part} for ${alert}`);
  // Between backquotes, or the line of a block.
  const commands = text
    .replaceAll(/\s+/g, ' ')
    .matchAll(/`(?:sh )?(?:npx --no-install )?chartledger ([^`]+?) ?`/g);
  return [...commands].map(([, command = '']) => command.split(' '));
}
