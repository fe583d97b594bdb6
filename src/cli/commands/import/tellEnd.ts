import { terminal } from '../../../server/terminal.ts';
import { writeLine, writeTable } from '../../lib/output.ts';
import { INTERRUPTED } from '../../lib/untilInterrupted.ts';
import type { ImportJob } from './ImportJob.ts';
import type { ImportCounts, ImportTally } from './ImportTally.ts';

/** Number of different warnings shown in the summary; all of them are in the file. */
const MOST_WARNINGS = 20;

/** Prints where the reports are, what was counted, and, if an import ended early, why. */
export function tellEnd({ tally, rejects, warnings, state, stop }: ImportJob, isJson: boolean): void {
  const { stderr } = terminal();
  if (rejects.written) stderr.write(`What was rejected, and why, is in ${rejects.path}.\n`);
  if (warnings.written) stderr.write(`What was accepted with warnings is in ${warnings.path}.\n`);
  if (state.isKept) {
    stderr.write(`How far it came is in ${state.path}: the same command goes on from there.\n`);
  }
  terminal().exitCode = endOf(stop.signal, tally.counts());
  writeSummary(tally, isJson);
}

/** Returns the exit code; prints why an import ended early. */
function endOf({ aborted, reason }: AbortSignal, counts: ImportCounts): number {
  if (!aborted) return counts.rejected === 0 ? 0 : 1;
  const interrupted = reason === 'interrupted';
  const why = interrupted ? 'interrupted' : reason instanceof Error ? reason.message : String(reason);
  terminal().stderr.write(`The import stopped early: ${why}\n`);
  return interrupted ? INTERRUPTED : 1;
}

function writeSummary(tally: ImportTally, isJson: boolean): void {
  if (isJson) {
    terminal().stdout.write(`${JSON.stringify(tally.counts())}\n`);
    return;
  }
  writeCounts(tally.counts());
  const warnings = tally.warnings();
  if (warnings.length === 0) return;
  const rows = warnings
    .slice(0, MOST_WARNINGS)
    .map(({ kind, field, message, count }) => [String(count), kind, field, message]);
  writeLine();
  writeTable(['WARNINGS', 'KIND', 'FIELD', 'MESSAGE'], rows);
  if (warnings.length > MOST_WARNINGS) writeLine(`and ${warnings.length - MOST_WARNINGS} other kinds`);
}

function writeCounts(counts: ImportCounts): void {
  const { accepted, created, updated, unchanged, rejected, warnings, by_kind, seconds } = counts;
  const rows = Object.entries(by_kind).map(([kind, count]) => [
    kind,
    String(count.accepted),
    String(count.rejected),
  ]);
  writeTable(['KIND', 'ACCEPTED', 'REJECTED'], rows);
  const outcomes = [
    `${created} created`,
    `${updated} updated`,
    ...(unchanged > 0 ? [`${unchanged} unchanged`] : []),
  ];
  writeLine(
    `${accepted} accepted (${outcomes.join(', ')}), ${rejected} rejected, ${warnings} warnings, in ${seconds.toFixed(1)} s`,
  );
}
