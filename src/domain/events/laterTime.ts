/** Returns the later of two event times; both in the log's format (ISO 8601, UTC, to the millisecond), which sorts as text. */
export function laterTime(latest: string | undefined, recordedAt: string): string {
  return latest !== undefined && latest > recordedAt ? latest : recordedAt;
}
