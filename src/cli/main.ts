import { makeFilesPrivate } from '../app/keepFilesPrivate.ts';
import { outliveReaders } from './output.ts';
import { runCommand } from './runCommand.ts';

makeFilesPrivate();
outliveReaders();
await runCommand(process.argv.slice(2));
