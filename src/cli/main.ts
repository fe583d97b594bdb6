import { makeFilesPrivate } from '../server/files.ts';
import { outliveReaders } from './lib/terminal.ts';
import { runCommand } from './program.ts';

makeFilesPrivate();
outliveReaders();
await runCommand(process.argv.slice(2));
