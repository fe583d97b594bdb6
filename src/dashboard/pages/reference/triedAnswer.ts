import { STATUS_CODES } from 'node:http';
import type { HeldAnswer } from '../../../api/server/HeldAnswer.ts';
import { type Html, html } from '../../components/html.ts';
import { badge, code } from '../../components/text.ts';

/** Headers that say something about the response. */
const shownHeaders = [
  'Request-Id',
  'Content-Type',
  'ETag',
  'Chartledger-Position',
  'Idempotent-Replayed',
  'Retry-After',
];

/** Returns the response of a tried operation: it is shown once, and kept nowhere. */
export function triedAnswer(answer: HeldAnswer): Html {
  const { statusCode: status, isCut } = answer;
  const headers = shownHeaders.flatMap((name) => {
    const value = answer.header(name);
    return value === undefined ? [] : html`<li>${name}: ${code(value)}</li>`;
  });
  return html`<section id="answer" aria-label="Response" tabindex="-1">
<h3>Response ${badge(`${status} ${STATUS_CODES[status] ?? ''}`, status < 400 ? 'good' : 'bad')}</h3>
<ul>${headers}</ul>
<pre tabindex="0"><code>${isCut ? answer.text : formatted(answer.text)}</code></pre>
${isCut && html`<p>The rest of the response is not shown.</p>`}
</section>`;
}

/** Returns JSON, or lines of it, formatted for people. */
function formatted(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
