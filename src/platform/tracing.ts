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
import { formatTraceparent, parseTraceparent } from './traceparent.ts';
import { version } from './version.ts';

const NAME = 'chartledger';
/** SDKs do not keep more than this. */
const MOST_LINKS = 128;

/** A piece of work, as described by a span. No name and no attribute holds PHI, or anything that a caller sent. */
export interface TracedWork {
  name: string;
  kind: keyof typeof SpanKind;
  /** `traceparent` of what it is part of, where it is not part of anything in this thread. */
  parent?: string | undefined;
  /** `traceparent`s of what it results from. */
  links?: readonly (string | undefined)[];
  attributes?: Attributes;
}

/** A span under way. */
interface WorkSpan {
  /** For whatever is called from here. */
  readonly traceparent: string;
  /** Whether it is being recorded. */
  readonly isSampled: boolean;
  set(attributes: Attributes): void;
  /** Marks it as failed, although it did not reject. */
  fail(): void;
}

/** Whether an SDK collects spans; operators load one with `--import`. Without one, asking costs nothing. */
export function isTracing(): boolean {
  const provider = trace.getTracerProvider() as Partial<ProxyTracerProvider>;
  return provider.getDelegateTracer === undefined || provider.getDelegateTracer(NAME, version) !== undefined;
}

/**
 * Resolves with the result of `work`; as a span, where an SDK collects them. The span has failed when it rejects:
 * only the error's code is reported.
 */
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
