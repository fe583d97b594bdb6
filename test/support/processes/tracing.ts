import { appendFileSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';
import { context, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { type ReadableSpan, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';

/** To be loaded with `--import`, as operators load an SDK: every thread appends its spans to the file `TEST_SPANS`. */
const file = process.env.TEST_SPANS as string;

const lineOf = (span: ReadableSpan) => {
  const { traceId, spanId } = span.spanContext();
  return JSON.stringify({
    name: span.name,
    traceId,
    spanId,
    parent: span.parentSpanContext?.spanId,
    links: span.links.map((link) => link.context.spanId),
    attributes: span.attributes,
    isMainThread,
  });
};

context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
trace.setGlobalTracerProvider(
  new TracerProvider({
    spanProcessors: [
      new SimpleSpanProcessor({
        exporter: {
          export(spans, done) {
            appendFileSync(file, spans.map((span) => `${lineOf(span)}\n`).join(''));
            done({ code: 0 });
          },
          shutdown: async () => undefined,
        },
      }),
    ],
  }),
);
