import type { Stores } from '../../bench/support/chartledger.ts';
import type { Outcome } from '../scenario.ts';
import type { Ledger } from './Ledger.ts';
import type { TorturedService } from './TorturedService.ts';
import { type Place, Writer } from './Writer.ts';

interface Writing {
  service: TorturedService;
  stores: Stores;
  ledger: Ledger;
  count: number;
  /** Between an answer and the next write. */
  pauseMs?: number;
  /** The basis of a writer's choices, whatever happens to the others. */
  choices(writer: number): (below: number) => number;
}

/**
 * Lets writers begin; `stop` resolves, when all have completed what they began, with the responses that they
 * received.
 */
export function startWriters({ service, stores, ledger, count, pauseMs = 0, choices }: Writing): {
  /** Counts of responses until now, by kind. */
  readonly answers: ReadonlyMap<string, number>;
  stop(): Promise<Outcome>;
} {
  const { key, workspace } = stores.key;
  const answers = new Map<string, number>();
  const failures: string[] = [];
  const place: Place = { url: () => service.url(), key, workspace, ledger, pauseMs, failures, answers };
  const stopping = new AbortController();
  const writing = Promise.all(
    Array.from({ length: count }, (_, n) =>
      new Writer(place, `writer-${n}`, choices(n)).run(stopping.signal),
    ),
  );
  writing.catch(() => undefined);
  return {
    answers,
    async stop() {
      stopping.abort();
      await writing;
      const figures = [...answers].sort().map(([name, many]): [string, number] => [`answers: ${name}`, many]);
      return { figures, failures };
    },
  };
}
