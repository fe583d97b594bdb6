import { makeFilesPrivate } from '../app/keepFilesPrivate.ts';
import { runCommand } from './runCommand.ts';

makeFilesPrivate();
await runCommand(process.argv.slice(2));
