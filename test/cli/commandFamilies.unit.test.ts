import { expect, test } from 'vitest';
import { commandGroups, commandProgram } from '../../src/cli/program.ts';

const namesOf = async (command?: string) => (await commandProgram(command)).commands.map((one) => one.name());

test('each command is found by its name alone, without those of other families', async () => {
  expect(await namesOf()).toEqual(commandGroups.flatMap(({ names }) => names));
  for (const { names } of commandGroups) {
    for (const name of names)
      expect(await namesOf(name)).toEqual(name === 'completion' ? await namesOf() : names);
  }
});
