/** A panel: its title, the unit of its values as named by Grafana, and queries by the names of their lines. */
type Panel = [title: string, unit: string, queries: Record<string, string>];

const rate = (metric: string, by = '', where = '') =>
  `sum${by && ` by (${by})`} (rate(${metric}${where && `{${where}}`}[$__rate_interval]))`;
const quantile = (of: number, metric: string, where = '') =>
  `histogram_quantile(${of}, ${rate(`${metric}_bucket`, 'le', where)})`;
/** For the whole service, whichever process reports it. */
const highest = (metric: string, by = '') => `max${by && ` by (${by})`} (${metric})`;

const requests = 'http_server_request_duration';
const upserts = 'http_request_method="POST",http_route=~"/integration/[a-z]+"';

const rows: Record<string, Panel[]> = {
  Requests: [
    [
      'Requests by status',
      'reqps',
      { '{{http_response_status_code}}': rate(`${requests}_count`, 'http_response_status_code') },
    ],
    ['Requests by route', 'reqps', { '{{http_route}}': rate(`${requests}_count`, 'http_route') }],
    [
      'Upserts: time to the answer',
      's',
      { p50: quantile(0.5, requests, upserts), p99: quantile(0.99, requests, upserts) },
    ],
    [
      'Refusals by code',
      'reqps',
      { '{{error_type}}': rate('chartledger_request_refusals_total', 'error_type') },
    ],
    [
      'Beyond a limit',
      'reqps',
      { '{{chartledger_limit}}': rate('chartledger_rate_limit_rejections_total', 'chartledger_limit') },
    ],
    ['Open event streams', 'short', { '{{instance}}': 'sum by (instance) (chartledger_stream_open)' }],
  ],
  'Event log': [
    [
      'Appends: time until durable',
      's',
      {
        p50: quantile(0.5, 'chartledger_append_duration'),
        p99: quantile(0.99, 'chartledger_append_duration'),
      },
    ],
    [
      'Events that wait to be durable',
      'short',
      { '{{instance}}': 'sum by (instance) (chartledger_append_waiting)' },
    ],
    [
      'Events a commit',
      'short',
      { mean: `${rate('chartledger_commit_size_sum')} / ${rate('chartledger_commit_size_count')}` },
    ],
    [
      'Commits',
      's',
      {
        p50: quantile(0.5, 'chartledger_commit_duration'),
        p99: quantile(0.99, 'chartledger_commit_duration'),
      },
    ],
    [
      'Lines of batches by outcome',
      'short',
      { '{{chartledger_outcome}}': rate('chartledger_batch_lines_total', 'chartledger_outcome') },
    ],
    [
      'Bytes of documents',
      'Bps',
      { '{{network_io_direction}}': rate('chartledger_document_io_total', 'network_io_direction') },
    ],
  ],
  'Read models and webhooks': [
    [
      'Age of the oldest event not projected',
      's',
      { '{{chartledger_read_model}}': highest('chartledger_read_model_lag', 'chartledger_read_model') },
    ],
    [
      'Parked events',
      'short',
      { '{{chartledger_read_model}}': highest('chartledger_read_model_parked', 'chartledger_read_model') },
    ],
    [
      'Projected events',
      'short',
      {
        events: rate('chartledger_projector_events_total'),
        batches: rate('chartledger_projector_batch_duration_count'),
      },
    ],
    [
      'Messages of webhooks that wait',
      'short',
      { waiting: highest('chartledger_webhook_backlog'), 'given up': highest('chartledger_webhook_failed') },
    ],
    ['Age of the oldest message', 's', { age: highest('chartledger_webhook_backlog_age') }],
    [
      'Readers and sinks',
      's',
      {
        'oldest event': highest('chartledger_consumer_backlog_age'),
        silence: highest('chartledger_consumer_silence'),
      },
    ],
    ['Warehouses that cannot be written', 'short', { warehouses: 'sum(chartledger_warehouse_failing)' }],
    [
      'Tries to deliver',
      'short',
      { '{{chartledger_outcome}}': rate('chartledger_webhook_attempts_total', 'chartledger_outcome') },
    ],
  ],
  'Readiness for billing': [
    [
      'Encounters by state',
      'short',
      { '{{chartledger_state}}': highest('chartledger_readiness_encounters', 'chartledger_state') },
    ],
    [
      'Encounters by rule',
      'short',
      { '{{chartledger_rule}}': highest('chartledger_readiness_findings', 'chartledger_rule') },
    ],
  ],
  Processes: [
    [
      'Stores that are reached',
      'short',
      { '{{chartledger_store}}': 'min by (chartledger_store) (chartledger_store_available)' },
    ],
    [
      'Failures of stores',
      'short',
      { '{{chartledger_store}}': rate('chartledger_store_errors_total', 'chartledger_store') },
    ],
    [
      'Roles that are ready',
      'short',
      { '{{chartledger_role}}': 'min by (chartledger_role) (chartledger_role_ready)' },
    ],
    ['Warnings', 'short', { '{{chartledger_code}}': highest('chartledger_warnings', 'chartledger_code') }],
    [
      'Free disk space',
      'bytes',
      {
        '{{chartledger_contents}}': 'min by (chartledger_contents) (chartledger_disk_free)',
      },
    ],
    [
      'Since the last backup, and since heads were sent',
      's',
      { backup: highest('chartledger_backup_age'), heads: highest('chartledger_heads_age') },
    ],
    [
      'Until certificates expire',
      's',
      {
        '{{chartledger_certificate}}': 'min by (chartledger_certificate) (chartledger_certificate_validity)',
      },
    ],
    ['Event loop: late, p99', 's', { '{{instance}} {{chartledger_thread}}': 'nodejs_eventloop_delay_p99' }],
    [
      'Event loop: late, at most',
      's',
      { '{{instance}} {{chartledger_thread}}': 'nodejs_eventloop_delay_max' },
    ],
    [
      'Event loop: share of time at work',
      'percentunit',
      { '{{instance}} {{chartledger_thread}}': 'nodejs_eventloop_utilization' },
    ],
    ['Processors', 'short', { '{{instance}}': rate('process_cpu_time_total', 'instance') }],
    ['Resident memory', 'bytes', { '{{instance}}': 'process_memory_usage' }],
    ['Restarts in an hour', 'short', { '{{instance}}': 'changes(process_start_time[1h])' }],
    ['Since the start', 's', { '{{instance}}': 'process_uptime' }],
  ],
};

const COLUMNS = 3;
const WIDTH = 24 / COLUMNS;
const HEIGHT = 8;
const datasource = { type: 'prometheus', uid: '$datasource' };

function timeSeries([title, unit, queries]: Panel) {
  return {
    type: 'timeseries',
    title,
    datasource,
    fieldConfig: { defaults: { unit, min: 0 }, overrides: [] },
    options: {
      legend: { displayMode: 'list', placement: 'bottom' },
      tooltip: { mode: 'multi', sort: 'desc' },
    },
    targets: Object.entries(queries).map(([legendFormat, expr], index) => ({
      refId: String.fromCharCode(65 + index),
      expr,
      legendFormat,
    })),
  };
}

/** Returns the panels with their places, with a heading before each row. */
function placed() {
  let y = 0;
  return Object.entries(rows).flatMap(([title, panels]) => {
    const heading = { type: 'row', title, collapsed: false, panels: [], gridPos: { x: 0, y, w: 24, h: 1 } };
    y += 1;
    const all = panels.map((panel, index) => ({
      ...timeSeries(panel),
      gridPos: {
        x: (index % COLUMNS) * WIDTH,
        y: y + Math.floor(index / COLUMNS) * HEIGHT,
        w: WIDTH,
        h: HEIGHT,
      },
    }));
    y += Math.ceil(panels.length / COLUMNS) * HEIGHT;
    return [heading, ...all];
  });
}

/** `ops/grafana/chartledger.json`: a dashboard to be imported, which asks for its data source. */
export function grafanaDashboard(): string {
  const dashboard = {
    uid: 'chartledger',
    title: 'Chartledger',
    tags: ['chartledger'],
    schemaVersion: 39,
    editable: true,
    refresh: '30s',
    time: { from: 'now-3h', to: 'now' },
    templating: {
      list: [{ name: 'datasource', label: 'Data source', type: 'datasource', query: 'prometheus' }],
    },
    panels: placed().map((panel, index) => ({ id: index + 1, ...panel })),
  };
  return `${JSON.stringify(dashboard, null, 2)}\n`;
}
