import { buffer } from 'node:stream/consumers';
import { decode } from '../../modules/integrations/hl7/characterSets.ts';
import { parseMessage } from '../../modules/integrations/hl7/parseMessage.ts';
import type { MessageStore } from '../../modules/integrations/messages/MessageStore.ts';
import type { Message } from '../../modules/integrations/messages/message.ts';
import { fileSize } from '../components/documents.ts';
import { type Html, html } from '../components/html.ts';
import { empty } from '../components/text.ts';
import { hl7Segments } from './hl7Segments.ts';
import { layOutJson } from './layOutJson.ts';

/** Larger messages are not shown in a page. */
export const MOST_SHOWN_BYTES = 1024 * 1024;

/** What no text contains: control characters other than tabs and line ends. */
const NO_TEXT = /[^\P{Cc}\t\r\n]/u;

/**
 * Resolves with a message as it arrived, and as it is read. Rejects with `not_found` where it no longer exists, and
 * with `unavailable`.
 */
export async function messageContent(store: MessageStore, message: Message): Promise<Html> {
  if (message.size > MOST_SHOWN_BYTES) {
    return empty(`The message is ${fileSize(message.size)}, too large to show here. Download it to view it.`);
  }
  const bytes = await buffer(await store.bytes(message));
  const content = message.format === 'hl7v2' ? hl7Content(bytes) : fhirContent(bytes);
  return content ?? empty('The message is not text. Download it to view it.');
}

function hl7Content(bytes: Buffer): Html | undefined {
  const message = parseMessage(bytes);
  const { refusal, encoding } = message;
  const text = textOf(bytes, refusal ? 'utf-8' : encoding.characterSet);
  if (text === undefined) return undefined;
  return html`${refusal ? html`<p class="banner">The message cannot be read. ${refusal.issues[0]?.text}</p>` : hl7Segments(message)}
<h3>Text</h3>
${block(text.replaceAll(/\r\n?/g, '\n'))}`;
}

/** Returns a resource, or the lines of Bulk Data; what is not JSON stays as sent. */
function fhirContent(bytes: Buffer): Html | undefined {
  const text = textOf(bytes, 'utf-8');
  if (text === undefined) return undefined;
  const whole = layOutJson(text);
  if (whole !== undefined) return block(whole);
  const lines = text.split(/\r?\n/).filter((line) => line.trim() !== '');
  return block(lines.map((line) => layOutJson(line) ?? line).join('\n'));
}

function textOf(bytes: Buffer, characterSet: string): string | undefined {
  const text = decode(bytes, characterSet);
  return text === undefined || NO_TEXT.test(text) ? undefined : text;
}

function block(text: string): Html {
  return html`<pre class="message-text" tabindex="0"><code>${text}</code></pre>`;
}
