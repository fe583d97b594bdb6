/** What all scenarios of one run share. */
export interface Torture {
  /** Seconds instead of minutes: enough for CI, too little for figures to quote. */
  short: boolean;
  /** Random choices are derived from it. */
  seed: number;
  /** For a scenario that makes many runs: the one with which it begins. */
  path?: string;
  /** An empty folder for all data; removed at the end. */
  folder: string;
  /** Reports the progress of the run. */
  progress(line: string): void;
}

export interface Outcome {
  /** Why nothing was done. */
  leftOut?: string;
  /** What was counted or measured, in the order in which it is reported. */
  figures: [what: string, figure: number | string][];
  /** What is wrong; empty where everything holds. None contains PHI, as all data are made up. */
  failures: string[];
}

export interface Scenario {
  name: string;
  description: string;
  /** Tortures a service. Rejects where the scenario itself cannot continue. */
  run(torture: Torture): Promise<Outcome>;
}
