import { html } from 'hono/html';
import { sentence } from '../../core/message-text.ts';
import { affectedText } from '../../core/operator/affected.ts';
import { actionForms } from './action-forms.ts';
import { adviceText } from './attention-page.ts';
import type { FormContext, PageSources } from './page-sources.ts';
import type { Html } from '../html/document.ts';
import { badge, card, counted, forText, longText, dueText, timeText } from './parts.ts';
import { pauseHeadline } from '../../core/operator/headline.ts';

const shownPauses = 20;
const keyName = /^wholesale\.keys\.\d+\.name$/;

/** What the attention list says of a pause; nothing yet where it may end by itself within a minute. */
const rowOf = (read: PageSources['read'], id: string) =>
  read.attention(1, { kind: 'pause', ids: [id] }).at(0);

/** What to do about a pause, by the id of its row. */
export function adviceOn(read: PageSources['read'], id: string, context: FormContext): Html {
  const row = rowOf(read, id);
  return html`What to do: ${row === undefined ? 'wait for the next try.' : adviceText(row, context)}`;
}

/** The headline of a pause, by what the attention list says of it. */
export const headlineOfPause = (
  read: PageSources['read'],
  { scope, reason }: { readonly scope: string; readonly reason: string },
): string => pauseHeadline(scope, reason, rowOf(read, `pause:${scope}`)?.reason);

/** The paused scopes that hold up the most. */
export function pausedScopes(sources: PageSources, context: FormContext): Html {
  const { read, clock } = sources;
  const all = read.pauses();
  // The first thing on the page is a pause of the account.
  const pauses = all.filter(({ scope }) => scope !== 'account');
  if (all.length === 0) return html`<p class="good">Nothing is paused.</p>`;
  if (pauses.length === 0) return html`<p>Only the account is paused: see above.</p>`;
  const nowMs = clock.wallMs();
  const shown = pauses.toSorted((a, b) => b.holdsUp - a.holdsUp).slice(0, shownPauses);
  const others = pauses.length - shown.length;
  return html`<ul class="rows">${shown.map(
    ({ scope, reason, message, openedBy, sinceMs, holdsUp, probeAtMs, affects }) => html`<li>
<p class="head"><strong>${headlineOfPause(read, { scope, reason })}</strong> ${badge(holdsUp === 0 ? 'open' : scope === 'account' ? 'problem' : 'warning', holdsUp === 0 ? 'holds up nothing' : html`${holdsUp} wait`)}</p>
<p class="faint"><code>${scope}</code> for ${forText(sinceMs, nowMs)}${openedBy === 'worker' ? null : ` by ${openedBy}`}. ${probeAtMs === null ? 'Only an operator resumes it.' : html`Next try ${dueText(probeAtMs, nowMs)}.`}</p>
<div>${longText([reason, sentence(message)].filter(Boolean).join(': '), 500)}</div>
${holdsUp === 0 ? null : html`<p class="facts-line">Waiting: ${affectedText(affects(), nowMs)}</p>`}
<div class="todo">${adviceOn(read, `pause:${scope}`, context)}</div>
${actionForms.pause(scope, context)}${scope.startsWith('key:') ? keyPlaces(sources, context, scope.slice(4)) : null}</li>`,
  )}</ul>
${others > 0 ? html`<p>${others} more are in the <a href="/attention?kind=pause">attention list</a>.</p>` : null}`;
}

/**
 * The button that reads the keys of the API again, and where their values stand. No page has a
 * value. @param only this key
 */
export function keyPlaces(
  { configInUse, clock }: PageSources,
  context: FormContext,
  only?: string,
): Html | null {
  const { values, readAtMs } = configInUse() ?? { values: [], readAtMs: null };
  const keys = values.filter(({ path, value }) => keyName.test(path) && (only ?? value) === value);
  if (keys.length === 0) return null;
  const places = keys.map(({ path, value: name }) => {
    // Either the value, which is masked, or the name of its file.
    const set = values.find((it) => it.path.startsWith(path.replace(/name$/, 'value')));
    const isVariable = set?.value === '***' && set.source === 'environment';
    const place =
      set?.value === '***'
        ? set.place
        : typeof set?.value === 'string'
          ? set.value.replace(/^file:/, '')
          : '';
    return html`The key ${name} is in <span class="code">${place}</span>${isVariable ? ', which only a restart reads again' : null}.<br>`;
  });
  return actionForms.reload(
    html`${places}Read last: ${timeText(readAtMs, clock.wallMs())}`,
    context,
  );
}

/** The sinks that take no results at the moment; null: all take them. */
export function pausedSinks({ read, clock }: PageSources, context: FormContext): Html | null {
  const sinks = read.sinkPauses();
  if (sinks.length === 0) return null;
  const nowMs = clock.wallMs();
  const rows = sinks.map(
    ({ sink, reason, message, sinceMs, probeAtMs, waiting }) => html`<li>
<p class="head"><strong>${sink}</strong> <a href="/deliveries?sink=${encodeURIComponent(sink)}">${badge('warning', html`${counted(waiting, 'result')} wait${waiting === 1 ? 's' : ''}`)}</a></p>
<p class="faint">for ${forText(sinceMs, nowMs)}. Next try ${dueText(probeAtMs, nowMs)}.</p>
<div>${longText(`${reason}: ${sentence(message)}`, 500)}</div>
<div class="todo">${adviceOn(read, `sink:${sink}`, context)}</div>
${actionForms.pause(`sink:${sink}`, context)}</li>`,
  );
  return card('sinks', 'Results that wait', html`<ul class="rows">${rows}</ul>`);
}
