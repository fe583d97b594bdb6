import { expect, test } from 'vitest';
import { commandProgram, families } from '../../src/cli/program.ts';

const namesOf = async (command?: string) => (await commandProgram(command)).commands.map((one) => one.name());

test('each command is found by its name alone, without those of other families', async () => {
  expect(await namesOf()).toEqual(families.flatMap(({ names }) => names));
  for (const { names } of families) {
    for (const name of names)
      expect(await namesOf(name)).toEqual(name === 'completion' ? await namesOf() : names);
  }
});
