import type { MeasuringProcess } from './support/load/measuringProcess.ts';
import type { Spread } from './support/statistics.ts';

/** What all scenarios of one run share. */
export interface Bench {
  /** Few, short rounds: enough to see that everything works, too few for figures to quote. */
  quick: boolean;
  rounds: number;
  /** Load before each measurement that is not counted; 0 in the quick form. */
  warmUpSeconds: number;
  /** Length of one measurement. */
  seconds: number;
  /** An empty folder for all data; removed at the end. */
  folder: string;
  /** The process that sends requests. */
  load: MeasuringProcess;
  /** Preloaded into servers, to count and slow their syncs; undefined where it cannot be compiled. */
  syncLibrary: string | undefined;
  /** Folder in which the service leaves CPU profiles, if requested. */
  profiles: string | undefined;
  /** Reports the progress of the run. */
  progress(line: string): void;
}

export interface Table {
  columns: string[];
  rows: string[][];
}

/** A figure with its target; one without a target is only reported. */
export interface Check {
  what: string;
  measured: Spread;
  /** Appended to the figure: `×`, `s`, `MB`. */
  unit: string;
  target?: ({ atLeast: number } | { atMost: number }) & { stretch?: number };
}

export interface Report {
  /** Why nothing was measured. */
  leftOut?: string;
  /** What has become so much worse that the change is refused. */
  exceeded?: string;
  figures: Table[];
  checks: Check[];
}

export interface Scenario {
  name: string;
  description: string;
  /** It is not part of everything. */
  isOnlyByName?: boolean;
  /**
   * Measures. Rejects when anything other than a figure is wrong: a request that failed, a process that did not
   * start.
   */
  run(bench: Bench): Promise<Report>;
}
