import { freePort } from '../../../test/support/servers.ts';
import type { Bench, Report, Scenario } from '../scenario.ts';
import { type Chartledger, caughtUp, makeStores, startChartledger } from '../support/chartledger.ts';
import { sendOverHttp, sendOverMllp } from '../support/load/hl7.ts';
import type { Load } from '../support/load/measuringProcess.ts';
import { type Contestant, columns, costOf, inTurns, rowsOf, series, warmUp } from '../support/rounds.ts';
import { spread } from '../support/statistics.ts';

const MLLP = 'chartledger, MLLP';
const HTTP = 'chartledger, HTTP';
const FEW = 1;
const MANY = 20;

function sender(
  name: string,
  server: Chartledger,
  send: (connections: number, seconds: number) => Promise<Load>,
): Contestant {
  return {
    name,
    async measure({ connections, warmUpSeconds, seconds }) {
      if (warmUpSeconds > 0) await send(connections, warmUpSeconds);
      return costOf(
        server,
        () => send(connections, seconds),
        () => caughtUp(server.url),
      );
    },
  };
}

async function run(bench: Bench): Promise<Report> {
  const port = await freePort();
  const stores = await makeStores(bench, {
    ROLES: 'api,projector,webhooks,heads,mllp',
    MLLP_PORT: `${port}`,
    BATCH_LINES_PER_MINUTE: '1000000000',
  });
  const server = await startChartledger(bench, stores);
  const contestants = [
    sender(MLLP, server, (connections, seconds) => sendOverMllp(port, connections, seconds)),
    sender(HTTP, server, (connections, seconds) => sendOverHttp(server, connections, seconds)),
  ];
  await warmUp(bench, contestants);
  const few = await inTurns(bench, contestants, FEW);
  const many = await inTurns(bench, contestants, MANY);
  await server.stop();
  const named = columns.map((name) => name.replace('request', 'message'));
  return {
    figures: [{ columns: named, rows: [...rowsOf(FEW, few), ...rowsOf(MANY, many)] }],
    checks: [
      {
        what: 'messages on one MLLP connection',
        measured: spread(series(few, MLLP, 'perSecond')),
        unit: 'a second',
        target: { atLeast: 300 },
      },
      {
        what: `messages on ${MANY} MLLP connections`,
        measured: spread(series(many, MLLP, 'perSecond')),
        unit: 'a second',
        target: { atLeast: 1_500 },
      },
      {
        what: `processor time of all threads a message, at ${MANY} connections`,
        measured: spread(series(many, MLLP, 'serverCpu').map((microseconds) => microseconds / 1_000)),
        unit: 'ms',
        target: { atMost: 1.5 },
      },
    ],
  };
}

export const hl7: Scenario = {
  name: 'hl7',
  description:
    'HL7 v2 messages of 0.8 KB over MLLP and over HTTP, each sent when the one before on its connection was acknowledged: ' +
    'registrations (A04), each a new visit and an update of its patient, take turns with updates of that patient (A08). ' +
    'Each message also names a payer, a provider and a facility.',
  run,
};
