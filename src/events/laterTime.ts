/** The later of two times of events; both as the log tells them (ISO 8601, UTC, to the millisecond), which sort as text. */
export function laterTime(latest: string | undefined, recordedAt: string): string {
  return latest !== undefined && latest > recordedAt ? latest : recordedAt;
}
