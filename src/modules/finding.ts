/** Something that operators should attend to, although the service continues. */
export interface Finding {
  /** Identifies the finding, for programs: `clock_behind_log`, `clock_stepped`. */
  code: string;
  /** One line: what is wrong, and what to do. Contains no PHI. */
  message: string;
}
