const durations = [
  { value: '0', text: 'now' },
  { value: '3600', text: 'in 1 hour' },
  { value: '86400', text: 'in 24 hours' },
  { value: '604800', text: 'in 7 days' },
  { value: '2592000', text: 'in 30 days' },
];

/** Returns when something may end, for a choice whose values are seconds. */
export function endings(maxSeconds: number) {
  return durations.filter(({ value }) => Number(value) <= maxSeconds);
}
