const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7/i;

/** When an event id was generated, in milliseconds since 1970; 0 for a UUID without a time (any version but 7). */
export function eventIdTime(id: string): number {
  return UUID_V7.test(id) ? Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16) : 0;
}
