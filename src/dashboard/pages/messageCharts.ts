import { type MessageStore, messagesBefore } from '../../modules/integrations/messages/MessageStore.ts';
import {
  type Message,
  type MessageState,
  messageStates,
} from '../../modules/integrations/messages/message.ts';
import { type Html, html } from '../components/html.ts';
import { type MessageLimits, messagesPath } from '../components/messagePaths.ts';
import { time } from '../components/text.ts';
import { totalledChart } from './overviewCharts.ts';
import { rangeLinks } from './rangeLinks.ts';
import { type BarTime, barTimes, type RangeName, ranges } from './ranges.ts';

/** A message is `received` only until it is processed: its tile counts what is left to do. */
const tileTexts: Record<MessageState, string> = {
  received: 'Not processed yet',
  accepted: 'Accepted',
  partly: 'Partly accepted',
  rejected: 'Rejected',
};

/** Maximum number of messages counted. */
const MOST_COUNTED = 1_000;
const COUNTED_AT_ONCE = 200;

/** What charts show of a message. */
interface CountedMessage {
  /** Milliseconds since 1970. */
  at: number;
  state: MessageState;
}

interface Counted {
  messages: CountedMessage[];
  /** ISO 8601: only those from this moment on are counted, as there are too many; undefined: all are. */
  since: string | undefined;
}

/**
 * Resolves with the results of the messages of a range, as bars that lead to the messages of their time; of one
 * source, where one is asked for.
 */
export async function messageCharts(
  store: MessageStore,
  workspace: string,
  range: RangeName,
  limits: MessageLimits,
): Promise<Html> {
  const bars = barTimes(range);
  const { messages, since } = await countMessages(store, workspace, bars[0]?.from ?? 0, limits.source);
  const { words, per } = ranges[range];
  const chart = (name: string, isCounted: (message: CountedMessage) => boolean, rejected?: 'yes') => {
    const points = bars.map((bar) => {
      const value = messages.filter((message) => isIn(bar, message) && isCounted(message)).length;
      const page_token = messagesBefore(workspace, bar.to, { rejected: rejected !== undefined });
      const { source } = limits;
      const only = { ...(rejected && { rejected }), ...(source !== undefined && { source }) };
      const path = messagesPath(workspace, { ...only, range, page_token });
      const id = `${rejected ? 'not-taken' : 'all'}-${bar.from}`;
      return { name: bar.name, value, ...(value > 0 && { link: { path, id } }) };
    });
    return totalledChart(name, points, range, rejected && 'bad');
  };
  const figure = (state: MessageState) => messages.filter((one) => one.state === state).length;
  return html`${rangeLinks(range, (one) => messagesPath(workspace, { ...limits, range: one }))}
<dl class="tiles">${messageStates.map(
    (state) => html`<div><dt>${tileTexts[state]}</dt><dd>${figure(state).toLocaleString('en-US')}</dd></div>`,
  )}</dl>
<div class="charts">
<section class="card"><h2>Messages per ${per}</h2>${chart('Messages', () => true)}</section>
<section class="card"><h2>Not fully accepted per ${per}</h2>${chart('Messages not fully accepted', isNotTaken, 'yes')}</section>
</div>
${since !== undefined && html`<p class="muted">Only the newest ${messages.length.toLocaleString('en-US')} messages in ${words} are counted: those since ${time(since)}.</p>`}`;
}

function isIn({ from, to }: BarTime, { at }: CountedMessage): boolean {
  return at >= from && at < to;
}

function isNotTaken({ state }: CountedMessage): boolean {
  return state === 'partly' || state === 'rejected';
}

async function countMessages(
  store: MessageStore,
  workspace: string,
  from: number,
  source: string | undefined,
): Promise<Counted> {
  const messages: CountedMessage[] = [];
  const isOf = (message: Message) => source === undefined || message.source === source;
  let pageToken: string | undefined;
  let oldest: string | undefined;
  for (let lookedAt = 0; lookedAt < MOST_COUNTED; lookedAt += COUNTED_AT_ONCE) {
    const { items, next_page_token } = await store.list(workspace, { limit: COUNTED_AT_ONCE, pageToken });
    const recent = items.filter(({ received_at }) => Date.parse(received_at) >= from);
    messages.push(
      ...recent.filter(isOf).map(({ received_at, state }) => ({ at: Date.parse(received_at), state })),
    );
    if (next_page_token === null || recent.length < items.length) return { messages, since: undefined };
    pageToken = next_page_token;
    oldest = items.at(-1)?.received_at;
  }
  return { messages, since: oldest };
}
