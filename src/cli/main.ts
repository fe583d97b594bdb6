import { makeFilesPrivate } from '../server/keepFilesPrivate.ts';
import { outliveReaders } from './lib/output.ts';
import { runCommand } from './runCommand.ts';

makeFilesPrivate();
outliveReaders();
await runCommand(process.argv.slice(2));
