/** Something that operators should see to, although the service goes on. */
export interface Finding {
  /** Names what it is, for programs: `clock_behind_log`. */
  code: string;
  /** One line: what is the matter, and what to do. It holds no PHI. */
  message: string;
}
