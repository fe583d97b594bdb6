import type { ProcessedMessage } from '../../modules/integrations/messages/MessageStore.ts';
import { printable, writeLine } from '../lib/output.ts';

/** Prints the result of a message, by record, and what is wrong in it. */
export function writeOutcome({ about, problems }: Pick<ProcessedMessage, 'about' | 'problems'>): void {
  for (const { kind, id, outcome = 'under way', version } of about) {
    writeLine(`${outcome}: ${kind} ${printable(id)}${version === undefined ? '' : `, version ${version}`}`);
  }
  for (const { severity, code, at, text } of problems) writeLine(`${severity} ${code} ${at}: ${text}`);
}
