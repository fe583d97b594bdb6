import type { Command } from 'commander';
import { expect, test } from 'vitest';
import { commandGroups, commandProgram } from '../../src/cli/program.ts';

/** The full names of a program's commands; of those that are not loaded, their first word. */
function namesIn(command: Command, path: readonly string[] = []): string[] {
  if (command.commands.length === 0) return [path.join(' ')];
  return command.commands.flatMap((child) => namesIn(child, [...path, child.name()]));
}

const entries = Object.values(commandGroups).flat();
const whole = namesIn(await commandProgram());

test.each(entries.map(({ name }) => name))(
  '%s is loaded by its words alone, with all of its verbs',
  async (name) => {
    const others = entries.map((entry) => entry.name).filter((other) => other !== name);
    const own = whole.filter((command) => command.split(' ')[0] === name);
    const loaded = namesIn(await commandProgram([name]));
    expect(loaded.filter((command) => command.split(' ')[0] === name)).toEqual(own);
    if (name !== 'completion') expect(loaded).toEqual(expect.arrayContaining(others));
    for (const command of own) expect(namesIn(await commandProgram(command.split(' ')))).toContain(command);
  },
);

test('every command that prints data prints it as JSON, too', async () => {
  const printing = /^(Check|List|Show|Print|Report|Compare|Simulate|For each)/;
  const without: string[] = [];
  const walk = (command: Command, path: string): void => {
    for (const child of command.commands) walk(child, `${path} ${child.name()}`.trim());
    const hasJson = command.options.some(
      ({ long, description }) => long === '--json' || /JSON/.test(description),
    );
    if (command.commands.length === 0 && printing.test(command.description()) && !hasJson) without.push(path);
  };
  walk(await commandProgram(), '');
  // A key in PEM, and a script.
  expect(without).toEqual(['secrets show signing', 'completion']);
});
