import type { DocumentFolder } from './DocumentFolder.ts';
import type { ImportClient } from './ImportClient.ts';
import type { ImportState } from './ImportState.ts';
import type { ImportTally, SendResult } from './ImportTally.ts';
import type { ImportSource } from './importSource.ts';
import type { Progress } from './progress.ts';
import type { RejectLine, ReportFile, WarningLine } from './ReportFile.ts';
import type { RowSender } from './RowSender.ts';

/** What an import sends, with what, and where it reports. */
export interface ImportJob {
  /** Records; undefined if only documents are sent. */
  source: ImportSource | undefined;
  documents: DocumentFolder | undefined;
  client: ImportClient;
  batches: RowSender;
  state: ImportState;
  tally: ImportTally;
  rejects: ReportFile<RejectLine>;
  warnings: ReportFile<WarningLine>;
  progress: Progress;
  /** Aborted, with the reason, when it is pointless to continue; the caller may abort it too. */
  stop: AbortController;
}

/** A record or document, for reports. */
export interface Subject {
  kind: string;
  source: string;
  id: unknown;
}

/** Counts the result of a record or document, and lists it if there is something to report. */
export function takeIn({ rejects, warnings, tally }: ImportJob, subject: Subject, result: SendResult): void {
  if (!result.accepted) {
    const { status, error, details } = result;
    rejects.write({ ...subject, status, error, ...(details !== undefined && { details }) });
  } else if (result.warnings.length > 0) warnings.write({ ...subject, warnings: result.warnings });
  tally.add(subject.kind, result);
}

/** Saves the progress of the import, with everything counted until then. */
export function note(
  { state, rejects, warnings, tally }: ImportJob,
  progress: { rows?: number; left?: number[] | undefined; round?: number; documents?: number },
): void {
  state.note({
    ...progress,
    tally: tally.snapshot(),
    rejects: rejects.settle(),
    warnings: warnings.settle(),
  });
}
