/** What a metric is, and what its values and attributes mean. */
export interface MetricDefinition {
  /** A sum that only grows, a value as of now, or how often values fell between boundaries. */
  kind: 'counter' | 'gauge' | 'histogram';
  /** UCUM, as OpenTelemetry writes units: `s`, `By`, `{event}`. */
  unit: string;
  description: string;
  /** Its attributes, with what each may be: there are few values of each, and none is an id or comes from a caller. */
  attributes?: Readonly<Record<string, string>>;
  /** Of a histogram: upper bounds, rising. */
  boundaries?: readonly number[];
  /** It tells of the whole service, whichever process tells it; otherwise of the process alone. */
  ofService?: true;
}

/** Those of OpenTelemetry's semantic conventions for HTTP. */
const httpSeconds = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];
const commitSeconds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 3];
const readModel = { 'chartledger.read_model': 'name of the read model' };
const store = {
  'chartledger.store':
    '`event_log`, `read_models`, `state_store`, `document_store`; of errors also `rate_limit_store`',
};
const thread = { 'chartledger.thread': 'number of the thread that answers requests; `0` is the first one' };

/** Every metric that the service exports, in the order in which they are explained. */
export const metricTable = {
  'http.server.request.duration': {
    kind: 'histogram',
    unit: 's',
    description: 'Requests that were answered, and how long that took.',
    attributes: {
      'http.request.method': 'method; `_OTHER` for one that HTTP does not define',
      'http.route': 'route as the OpenAPI document has it; `unmatched` for any other path',
      'http.response.status_code': 'status of the answer',
    },
    boundaries: httpSeconds,
  },
  'chartledger.request.refusals': {
    kind: 'counter',
    unit: '{request}',
    description: 'Requests that were refused or failed.',
    attributes: { 'error.type': '`code` of the error' },
  },
  'chartledger.rate_limit.rejections': {
    kind: 'counter',
    unit: '{request}',
    description: 'What came beyond a limit.',
    attributes: {
      'chartledger.limit': 'name of the limit, such as `requests` (by address) or `requests_of_keys`',
    },
  },
  'chartledger.append.duration': {
    kind: 'histogram',
    unit: 's',
    description: 'Appends to the event log, and how long each took until it was durable.',
    boundaries: commitSeconds,
  },
  'chartledger.append.waiting': {
    kind: 'gauge',
    unit: '{event}',
    description: 'Events that wait to be durable.',
  },
  'chartledger.commit.size': {
    kind: 'histogram',
    unit: '{event}',
    description: 'Commits of the SQLite log, and how many events each held.',
    boundaries: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000],
  },
  'chartledger.commit.duration': {
    kind: 'histogram',
    unit: 's',
    description: 'Commits of the SQLite log, and how long each took.',
    boundaries: commitSeconds,
  },
  'chartledger.read_model.lag': {
    kind: 'gauge',
    unit: 's',
    description: 'Age of the oldest event that a read model does not hold yet; 0 when it holds all.',
    attributes: readModel,
    ofService: true,
  },
  'chartledger.read_model.parked': {
    kind: 'gauge',
    unit: '{event}',
    description: 'Events that a read model could not take, at most 1,000.',
    attributes: readModel,
    ofService: true,
  },
  'chartledger.projector.events': {
    kind: 'counter',
    unit: '{event}',
    description: 'Events that were folded into read models, once for each.',
  },
  'chartledger.projector.batch.duration': {
    kind: 'histogram',
    unit: 's',
    description: 'Batches of events that were folded into read models, and how long each took.',
    boundaries: httpSeconds,
  },
  'chartledger.webhook.attempts': {
    kind: 'counter',
    unit: '{attempt}',
    description: 'Tries to deliver a message.',
    attributes: { 'chartledger.outcome': '`delivered`, `retrying`, `failed`' },
  },
  'chartledger.webhook.backlog': {
    kind: 'gauge',
    unit: '{message}',
    description:
      'Messages of webhooks in use that wait; of each at most 1,000 are counted that nobody has looked at yet.',
    ofService: true,
  },
  'chartledger.webhook.backlog.age': {
    kind: 'gauge',
    unit: 's',
    description: 'Age of the event of the oldest of these; 0 when none waits.',
    ofService: true,
  },
  'chartledger.webhook.failed': {
    kind: 'gauge',
    unit: '{message}',
    description: 'Messages that were given up and are kept, at most 1,000 of each webhook.',
    ofService: true,
  },
  'chartledger.store.available': {
    kind: 'gauge',
    unit: '1',
    description: '1 while the process reaches a store, else 0.',
    attributes: store,
  },
  'chartledger.store.errors': {
    kind: 'counter',
    unit: '{error}',
    description: 'Failures of stores, those that were tried again among them.',
    attributes: store,
  },
  'chartledger.role.ready': {
    kind: 'gauge',
    unit: '1',
    description: '1 while a role of the process can do its work, else 0, as `/readyz` tells it.',
    attributes: { 'chartledger.role': '`api`, `projector`, `webhooks`, `heads`' },
  },
  'chartledger.warnings': {
    kind: 'gauge',
    unit: '{warning}',
    description: 'What `/readyz` warns of.',
    attributes: { 'chartledger.code': '`code` of the warning' },
  },
  'chartledger.stream.open': {
    kind: 'gauge',
    unit: '{stream}',
    description: 'Event streams that are open (server-sent events).',
  },
  'chartledger.document.io': {
    kind: 'counter',
    unit: 'By',
    description: 'Bytes of documents.',
    attributes: { 'network.io.direction': '`receive`: of uploads; `transmit`: of downloads' },
  },
  'chartledger.batch.lines': {
    kind: 'counter',
    unit: '{line}',
    description: 'Lines of batches.',
    attributes: { 'chartledger.outcome': '`created`, `updated`, `unchanged`, `refused`' },
  },
  'chartledger.readiness.encounters': {
    kind: 'gauge',
    unit: '{encounter}',
    description: 'Encounters of all workspaces, by their readiness for billing.',
    attributes: { 'chartledger.state': 'state, as the worklist has it' },
    ofService: true,
  },
  'chartledger.readiness.findings': {
    kind: 'gauge',
    unit: '{encounter}',
    description: 'Encounters of all workspaces in which a rule finds something.',
    attributes: { 'chartledger.rule': 'code of the rule' },
    ofService: true,
  },
  'nodejs.eventloop.delay.p99': {
    kind: 'gauge',
    unit: 's',
    description: 'How late the event loop of a thread was in the last ten seconds: 99 of 100 times less.',
    attributes: thread,
  },
  'nodejs.eventloop.delay.max': {
    kind: 'gauge',
    unit: 's',
    description: 'How late the event loop of a thread was in the last ten seconds, at most.',
    attributes: thread,
  },
  'nodejs.eventloop.utilization': {
    kind: 'gauge',
    unit: '1',
    description: 'Share of the last ten seconds in which a thread was at work.',
    attributes: thread,
  },
  'process.cpu.time': {
    kind: 'counter',
    unit: 's',
    description: 'Processor time of all threads.',
    attributes: { 'cpu.mode': '`user`, `system`' },
  },
  'process.memory.usage': { kind: 'gauge', unit: 'By', description: 'Resident memory.' },
  'process.uptime': { kind: 'gauge', unit: 's', description: 'Since the process began.' },
} as const satisfies Record<string, MetricDefinition>;

export type MetricName = keyof typeof metricTable;

/** The attributes of a metric, all of them. */
export type AttributesOf<Name extends MetricName> = (typeof metricTable)[Name] extends {
  attributes: infer Attributes;
}
  ? { readonly [Attribute in keyof Attributes]: string | number }
  : Record<string, never>;

/** The metrics of a kind. */
export type NameOfKind<Kind extends MetricDefinition['kind']> = {
  [Name in MetricName]: (typeof metricTable)[Name]['kind'] extends Kind ? Name : never;
}[MetricName];

/** A metric's definition. */
export function definitionOf(name: MetricName): MetricDefinition {
  return metricTable[name];
}
