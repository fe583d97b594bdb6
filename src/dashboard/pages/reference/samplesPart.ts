import { type Html, html } from '../../components/html.ts';
import { curlSample } from './curlSample.ts';
import type { PlacedOperation } from './document.ts';
import { pythonSample } from './pythonSample.ts';
import { typescriptSample } from './typescriptSample.ts';

const languages = [
  { id: 'curl', name: 'curl', write: curlSample },
  { id: 'typescript', name: 'TypeScript', write: typescriptSample },
  { id: 'python', name: 'Python', write: pythonSample },
];

/** Returns how an operation is called, in each language; one is open at a time, by the browser's own means. */
export function samplesPart(placed: PlacedOperation): Html {
  return html`${languages.map(
    ({ id, name, write }, at) => html`<details name="samples" class="sample"${at === 0 && html` open`}>
<summary>${name}</summary>
<button type="button" class="outline secondary" data-copy="sample-${id}" aria-label="Copy the ${name} sample">Copy</button>
<pre id="sample-${id}" tabindex="0"><code>${write(placed)}</code></pre>
</details>`,
  )}`;
}
