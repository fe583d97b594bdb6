/** What a metric is, and what its values and attributes mean. */
interface MetricDefinition {
  /** A sum that only grows, a current value, or how often values fell between boundaries. */
  kind: 'counter' | 'gauge' | 'histogram';
  /** UCUM, as used by OpenTelemetry for units: `s`, `By`, `{event}`. */
  unit: string;
  description: string;
  /**
   * Its attributes, with the possible values of each: there are few of them, and none is an id or comes from a
   * caller.
   */
  attributes?: Readonly<Record<string, string>>;
  /** For a histogram: upper bounds, ascending. */
  boundaries?: readonly number[];
  /** It describes the whole service, whichever process reports it; otherwise only the process. */
  ofService?: true;
}

/** The boundaries of OpenTelemetry's semantic conventions for HTTP. */
const httpSeconds = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];
const commitSeconds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 3];
const readModel = { 'chartledger.read_model': 'name of the read model' };
const store = {
  'chartledger.store':
    '`event_log`, `read_models`, `state_store`, `document_store`; for errors also `rate_limit_store`',
};
const thread = { 'chartledger.thread': 'number of the request thread; `0` is the first one' };

/** Every metric that the service exports, in the order in which they are explained. */
export const metricDefinitions = {
  'http.server.request.duration': {
    kind: 'histogram',
    unit: 's',
    description: 'Answered requests, and how long each took.',
    attributes: {
      'http.request.method': 'method; `_OTHER` if HTTP does not define it',
      'http.route': 'route as in the OpenAPI document; `unmatched` for any other path',
      'http.response.status_code': 'status of the response',
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
    description: 'Requests, sign-ins and batch lines rejected by a rate limit.',
    attributes: {
      'chartledger.limit': 'name of the limit, such as `requests` (by address) or `requests_of_keys`',
    },
  },
  'chartledger.append.duration': {
    kind: 'histogram',
    unit: 's',
    description: 'Appends to the event log, and how long each took to become durable.',
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
    description: 'Age of the oldest event that a read model has not yet processed; 0 when it is up to date.',
    attributes: readModel,
    ofService: true,
  },
  'chartledger.read_model.parked': {
    kind: 'gauge',
    unit: '{event}',
    description: 'Events that a read model could not process, at most 1,000.',
    attributes: readModel,
    ofService: true,
  },
  'chartledger.projector.events': {
    kind: 'counter',
    unit: '{event}',
    description: 'Events projected into read models, each counted once.',
  },
  'chartledger.projector.batch.duration': {
    kind: 'histogram',
    unit: 's',
    description: 'Batches of events projected into read models, and how long each took.',
    boundaries: httpSeconds,
  },
  'chartledger.webhook.attempts': {
    kind: 'counter',
    unit: '{attempt}',
    description: 'Attempts to deliver a webhook message.',
    attributes: { 'chartledger.outcome': '`delivered`, `retrying`, `failed`' },
  },
  'chartledger.webhook.backlog': {
    kind: 'gauge',
    unit: '{message}',
    description:
      'Messages of webhooks in use that are waiting for delivery; of the events not yet examined, at most ' +
      '1,000 are counted per webhook.',
    ofService: true,
  },
  'chartledger.webhook.backlog.age': {
    kind: 'gauge',
    unit: 's',
    description: 'Age of the event behind the oldest waiting message; 0 when none is waiting.',
    ofService: true,
  },
  'chartledger.consumer.backlog.age': {
    kind: 'gauge',
    unit: 's',
    description: 'Age of the oldest event that a named reader or sink has not got; 0 when there is none.',
    ofService: true,
  },
  'chartledger.consumer.silence': {
    kind: 'gauge',
    unit: 's',
    description:
      'Time since the last contact of the named reader or sink that has been silent for longest; 0 without any.',
    ofService: true,
  },
  'chartledger.warehouse.failing': {
    kind: 'gauge',
    unit: '{warehouse}',
    description: 'Warehouses of `WAREHOUSES` that the process could not write when it last tried.',
  },
  'chartledger.webhook.failed': {
    kind: 'gauge',
    unit: '{message}',
    description: 'Messages that were given up and are kept, at most 1,000 per webhook.',
    ofService: true,
  },
  'chartledger.store.available': {
    kind: 'gauge',
    unit: '1',
    description: '1 while the process can reach a store, otherwise 0.',
    attributes: store,
  },
  'chartledger.store.errors': {
    kind: 'counter',
    unit: '{error}',
    description: 'Store failures, including those that were retried.',
    attributes: store,
  },
  'chartledger.role.ready': {
    kind: 'gauge',
    unit: '1',
    description: '1 while a role of the process is ready, otherwise 0, as reported by `/readyz`.',
    attributes: { 'chartledger.role': '`api`, `projector`, `webhooks`, `heads`, `warehouse`, `mllp`' },
  },
  'chartledger.warnings': {
    kind: 'gauge',
    unit: '{warning}',
    description: 'Warnings reported by `/readyz`.',
    attributes: { 'chartledger.code': '`code` of the warning' },
  },
  'chartledger.disk.free': {
    kind: 'gauge',
    unit: 'By',
    description: 'Free space where the process writes on its own machine.',
    attributes: {
      'chartledger.contents': '`data_folder`, `event_log`, `read_models`, `state_store`, `document_store`',
    },
  },
  'chartledger.certificate.validity': {
    kind: 'gauge',
    unit: 's',
    description:
      'Time until the first certificate in a file of the role `mllp` expires; negative once it has expired.',
    attributes: {
      'chartledger.certificate': '`mllp` (`MLLP_TLS_CERTIFICATE`), `mllp_ca` (`MLLP_TLS_CA`)',
    },
  },
  'chartledger.backup.age': {
    kind: 'gauge',
    unit: 's',
    description:
      'Time since the last backup by `chartledger backup`; if there was none and the event log is on SQLite, ' +
      'since the first workspace was created.',
    ofService: true,
  },
  'chartledger.heads.age': {
    kind: 'gauge',
    unit: 's',
    description:
      'Time since all signed heads were sent, as reported by each process that has `HEADS_TO`; if they never ' +
      'were, since the process started.',
    ofService: true,
  },
  'chartledger.stream.open': {
    kind: 'gauge',
    unit: '{stream}',
    description: 'Open event streams (server-sent events).',
  },
  'chartledger.document.io': {
    kind: 'counter',
    unit: 'By',
    description: 'Bytes of documents.',
    attributes: { 'network.io.direction': '`receive` for uploads; `transmit` for downloads' },
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
    description: 'Encounters in all workspaces, by readiness for billing.',
    attributes: { 'chartledger.state': 'state, as in the worklist' },
    ofService: true,
  },
  'chartledger.readiness.findings': {
    kind: 'gauge',
    unit: '{encounter}',
    description: 'Encounters in all workspaces with a finding, by rule.',
    attributes: { 'chartledger.rule': 'code of the rule' },
    ofService: true,
  },
  'nodejs.eventloop.delay.p99': {
    kind: 'gauge',
    unit: 's',
    description: 'Event loop delay of a thread over the last ten seconds, 99th percentile.',
    attributes: thread,
  },
  'nodejs.eventloop.delay.max': {
    kind: 'gauge',
    unit: 's',
    description: 'Event loop delay of a thread over the last ten seconds, maximum.',
    attributes: thread,
  },
  'nodejs.eventloop.utilization': {
    kind: 'gauge',
    unit: '1',
    description: 'Share of the last ten seconds that a thread was busy.',
    attributes: thread,
  },
  'process.cpu.time': {
    kind: 'counter',
    unit: 's',
    description: 'Processor time of all threads.',
    attributes: { 'cpu.mode': '`user`, `system`' },
  },
  'process.memory.usage': { kind: 'gauge', unit: 'By', description: 'Resident memory.' },
  'process.start_time': {
    kind: 'gauge',
    unit: 's',
    description: 'When the process started, in seconds since 1970: each change is a restart.',
  },
  'process.uptime': { kind: 'gauge', unit: 's', description: 'Time since the process started.' },
} as const satisfies Record<string, MetricDefinition>;

export type MetricName = keyof typeof metricDefinitions;

/** All attributes of a metric. */
export type AttributesOf<Name extends MetricName> = (typeof metricDefinitions)[Name] extends {
  attributes: infer Attributes;
}
  ? { readonly [Attribute in keyof Attributes]: string | number }
  : Record<string, never>;

/** The metrics of a kind. */
export type NameOfKind<Kind extends MetricDefinition['kind']> = {
  [Name in MetricName]: (typeof metricDefinitions)[Name]['kind'] extends Kind ? Name : never;
}[MetricName];

/** Returns a metric's definition. */
export function definitionOf(name: MetricName): MetricDefinition {
  return metricDefinitions[name];
}
