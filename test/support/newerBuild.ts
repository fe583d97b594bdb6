import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { STORE_FORMAT } from '../../src/storage/storeFormat.ts';
import { node } from './serviceProcess.ts';

/** What the program is made of, where it runs from its sources. */
const parts = ['src', 'projections', 'assets', 'package.json'];

/** The build of `newerBuild` in a format that this one does not know. */
export function laterFormatBuild(folder: string): string[] {
  const command = newerBuild(folder);
  replace(
    join(folder, 'src/storage/storeFormat.ts'),
    `STORE_FORMAT = ${STORE_FORMAT};`,
    `STORE_FORMAT = ${STORE_FORMAT + 1};`,
  );
  return command;
}

/**
 * A build of the service, in an empty folder, that writes payers and uploads of documents in the next schema version;
 * `withNewModel`: its read model of records has another version too. The result is the command that starts it.
 */
export function newerBuild(folder: string, { withNewModel = false } = {}): string[] {
  for (const part of parts) cpSync(resolve(part), join(folder, part), { recursive: true });
  symlinkSync(resolve('node_modules'), join(folder, 'node_modules'));
  const step = '[(data) => ({ ...data })]';
  replace(join(folder, 'src/domain/records/kinds/payer.ts'), 'fields: {', `upcasts: ${step},\n  fields: {`);
  replace(
    join(folder, 'src/domain/events/upcasting.ts'),
    'DocumentUploaded: [],',
    `DocumentUploaded: ${step.replace('data', 'data: JsonObject')},`,
  );
  if (withNewModel) replace(join(folder, 'projections/records.ts'), '+ addedKinds,', '+ addedKinds + 1,');
  return [node, join(folder, 'src/main.ts')];
}

function replace(path: string, from: string, to: string): void {
  const text = readFileSync(path, 'utf8');
  if (!text.includes(from)) throw new Error(`${path} does not hold: ${from}`);
  writeFileSync(path, text.replace(from, to));
}
