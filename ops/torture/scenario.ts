/** What all scenarios of one run share. */
export interface Torture {
  /** Seconds instead of minutes: enough for CI, too little for figures to quote. */
  short: boolean;
  /** What is chosen by chance follows from it. */
  seed: number;
  /** Of a scenario that makes many runs: the one with which it begins. */
  path?: string;
  /** An empty folder for all data; removed at the end. */
  folder: string;
  /** Says how far the run is. */
  progress(line: string): void;
}

export interface Outcome {
  /** Why nothing was done. */
  leftOut?: string;
  /** What was counted or measured, in the order in which it is told. */
  figures: [what: string, figure: number | string][];
  /** What is wrong; none where all holds. None holds PHI, as all data are made up. */
  failures: string[];
}

export interface Scenario {
  name: string;
  description: string;
  /** Tortures a service. Rejects where the scenario itself cannot go on. */
  run(torture: Torture): Promise<Outcome>;
}
