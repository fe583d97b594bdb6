/** W3C Trace Context, section 3.2: version, trace, parent, flags; a later version may continue after that. */
const form =
  /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-[\x21-\x7e]{0,64})?$/;

/** The content of a `traceparent`. */
interface TraceParent {
  traceId: string;
  spanId: string;
  flags: number;
}

/** Parses a `traceparent`; undefined when it is not valid. */
export function parseTraceparent(text: unknown): TraceParent | undefined {
  if (typeof text !== 'string') return undefined;
  const [, version, traceId, spanId, flags = '', more] = form.exec(text) ?? [];
  if (traceId === undefined || spanId === undefined) return undefined;
  if (version === '00' && more !== undefined) return undefined;
  return { traceId, spanId, flags: Number.parseInt(flags, 16) };
}

/** Whether it is a valid `traceparent`: others are ignored. */
export function isTraceparent(text: unknown): text is string {
  return parseTraceparent(text) !== undefined;
}

/** Returns the `traceparent` of a span, in the version that everybody understands. */
export function formatTraceparent({ traceId, spanId, flags }: TraceParent): string {
  return `00-${traceId}-${spanId}-${flags.toString(16).padStart(2, '0')}`;
}
