import {
  type Attributes,
  type Context,
  context,
  type ProxyTracerProvider,
  type Span,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  trace,
} from '@opentelemetry/api';
import { version } from '../version.ts';
import { formatTraceparent, parseTraceparent } from './traceparent.ts';

const NAME = 'chartledger';
/** More of them are not kept by SDKs. */
const MOST_LINKS = 128;

/** A piece of work, as a span tells it. No name and no attribute holds PHI, or what a caller sent. */
export interface TracedWork {
  name: string;
  kind: keyof typeof SpanKind;
  /** `traceparent` of what it is part of, where nothing in this thread is. */
  parent?: string | undefined;
  /** `traceparent`s of what it comes from. */
  links?: readonly (string | undefined)[];
  attributes?: Attributes;
}

/** A span under way. */
export interface WorkSpan {
  /** For who is called on from here. */
  readonly traceparent: string;
  /** Whether anybody looks at it. */
  readonly isSampled: boolean;
  set(attributes: Attributes): void;
  /** It came to nothing, although it did not reject. */
  fail(): void;
}

/** Whether an SDK takes spans, which operators load with `--import`. Without one it costs nothing to ask. */
export function isTracing(): boolean {
  const provider = trace.getTracerProvider() as Partial<ProxyTracerProvider>;
  return provider.getDelegateTracer === undefined || provider.getDelegateTracer(NAME, version) !== undefined;
}

/** What `work` gives; as a span, where an SDK takes them. It failed when it rejects: of the error only its code is told. */
export async function traced<Result>(
  { name, kind, parent, links = [], attributes }: TracedWork,
  work: (span: WorkSpan | undefined) => Promise<Result>,
): Promise<Result> {
  if (!isTracing()) return work(undefined);
  const around = contextOf(parent);
  const options = {
    kind: SpanKind[kind],
    links: links.flatMap((link) => linkTo(link) ?? []).slice(0, MOST_LINKS),
    ...(attributes && { attributes }),
  };
  const span = trace.getTracer(NAME, version).startSpan(name, options, around);
  try {
    return await context.with(trace.setSpan(around, span), () => work(workSpan(span)));
  } catch (error) {
    const { code, name: type } = error as { code?: unknown; name?: unknown };
    span.setAttribute('error.type', String(code ?? type));
    span.setStatus({ code: SpanStatusCode.ERROR });
    throw error;
  } finally {
    span.end();
  }
}

function contextOf(parent: string | undefined): Context {
  const active = context.active();
  const remote = trace.getSpan(active) === undefined ? linkTo(parent) : undefined;
  return remote === undefined ? active : trace.setSpanContext(active, remote.context);
}

function linkTo(traceparent: string | undefined) {
  const parsed = parseTraceparent(traceparent);
  if (parsed === undefined) return undefined;
  const { traceId, spanId, flags } = parsed;
  return { context: { traceId, spanId, traceFlags: flags, isRemote: true } };
}

function workSpan(span: Span): WorkSpan {
  const { traceId, spanId, traceFlags } = span.spanContext();
  return {
    traceparent: formatTraceparent({ traceId, spanId, flags: traceFlags }),
    isSampled: (traceFlags & TraceFlags.SAMPLED) !== 0,
    set: (attributes) => {
      span.setAttributes(attributes);
    },
    fail: () => {
      span.setStatus({ code: SpanStatusCode.ERROR });
    },
  };
}
