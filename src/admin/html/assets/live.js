// Fetches the page again from time to time and replaces its content. Without this script the pages are complete; each has a
// link to refresh it.
const main = document.querySelector('main[data-live]');
const choices = [
  ['Off', 0],
  ['5 s', 5000],
  ['30 s', 30_000],
];
const stored = 'order-sync-refresh-ms';
const fetchForMs = 20_000;

const status = document.createElement('span');
let everyMs = readChoice();
let attention = attentionText();
let timer;

showLocalTimes(document);
addCopyButtons(document);
document.addEventListener('keydown', (event) => {
  if (event.key !== '/' || event.target.matches('input, select, textarea')) return;
  event.preventDefault();
  const field = document.querySelector('[name="search"]');
  if (field === null) location.assign('/orders');
  else field.focus();
});
if (main !== null) {
  document.querySelector('footer')?.append(refreshBar());
  choose(everyMs);
  document.addEventListener('visibilitychange', () => {
    if (!document.hidden) schedule(0);
  });
}

/** The exact time is that of the person who looks; that in UTC stands behind it. */
function showLocalTimes(root) {
  for (const time of root.querySelectorAll('time')) {
    const local = new Date(time.dateTime).toLocaleString('sv-SE');
    time.title = time.title === '' ? time.textContent : `${local} (${time.title})`;
    if (time.classList.contains('clock')) time.textContent = local.slice(11);
    else if (/^\d{4}-/.test(time.textContent)) time.textContent = local;
  }
}

/** A button beside each value that people paste elsewhere, such as a code. */
function addCopyButtons(root) {
  for (const value of root.querySelectorAll('[data-copy]')) {
    const button = document.createElement('button');
    button.type = 'button';
    button.className = 'copy';
    const say = (text) => {
      button.textContent = text;
      button.setAttribute('aria-label', `${text} ${value.textContent}`);
    };
    say('Copy');
    const select = () => {
      getSelection().selectAllChildren(value);
      say('Chosen');
    };
    button.addEventListener('click', () => {
      // Over plain http a browser lets no script write the clipboard: the text is chosen instead.
      if (navigator.clipboard === undefined) select();
      else navigator.clipboard.writeText(value.textContent).then(() => say('Copied'), select);
    });
    value.after(button);
  }
}

/** Buttons for how often the page is fetched, and what became of it. */
function refreshBar() {
  const bar = document.createElement('div');
  bar.className = 'live';
  bar.setAttribute('role', 'group');
  bar.setAttribute('aria-label', 'Refresh this page');
  status.setAttribute('role', 'status');
  const buttons = choices.map(([text, ms]) => {
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = text;
    button.dataset.refreshMs = String(ms);
    button.addEventListener('click', () => choose(ms));
    return button;
  });
  bar.append('Refresh: ', ...buttons, status);
  return bar;
}

function choose(ms) {
  everyMs = ms;
  try {
    localStorage.setItem(stored, String(ms));
  } catch {
    // The browser keeps nothing for this site: the choice is that of this page only.
  }
  for (const button of document.querySelectorAll('[data-refresh-ms]')) {
    button.setAttribute('aria-pressed', String(button.dataset.refreshMs === String(ms)));
  }
  schedule(ms);
}

function schedule(inMs) {
  clearTimeout(timer);
  if (everyMs > 0) timer = setTimeout(refresh, inMs);
}

const isChanged = (field) =>
  field.value !== field.defaultValue || field.checked !== field.defaultChecked;

/** Nothing is replaced under the hands of a person: what they have marked or write stays. */
function isBusy() {
  if (document.hidden || getSelection()?.isCollapsed === false) return true;
  const { activeElement } = document;
  const inForm = main.contains(activeElement) && activeElement?.closest('form') !== null;
  const fields = [...main.querySelectorAll('input:not([type="hidden"]), textarea')];
  return (
    inForm ||
    fields.some(isChanged) ||
    main.querySelector('details.action[open], input:checked') !== null
  );
}

/** What an element is called by the person who looks: the same one has it on the page as it is now. */
const nameOf = (element) =>
  `${element.localName} ${element.getAttribute('href') ?? ''} ${element.getAttribute('aria-label') ?? element.textContent.slice(0, 80)}`;

async function refresh() {
  if (isBusy()) {
    if (!document.hidden) schedule(everyMs);
    return;
  }
  try {
    const answer = await fetch(location.href, { signal: AbortSignal.timeout(fetchForMs) });
    const next = new DOMParser().parseFromString(await answer.text(), 'text/html');
    const isPage = next.querySelector('main[data-live]') !== null;
    if (isPage && !isBusy()) replace(next);
    if (!isPage)
      status.textContent =
        answer.status === 401 ? 'You are signed out.' : `The worker answered ${answer.status}.`;
  } catch {
    status.textContent = 'The worker does not answer.';
  }
  schedule(everyMs);
}

function replace(next) {
  const { activeElement } = document;
  const focused = main.contains(activeElement) ? nameOf(activeElement) : null;
  const opened = [...main.querySelectorAll('details[open] > summary')].map(nameOf);
  const boxes = [...main.querySelectorAll('.scroll')].map((box) => box.scrollLeft);
  const { scrollY } = window;
  document.title = next.title;
  showLocalTimes(next);
  main.replaceChildren(...next.querySelector('main').childNodes);
  addCopyButtons(main);
  for (const [index, box] of [...main.querySelectorAll('.scroll')].entries())
    box.scrollLeft = boxes[index] ?? 0;
  for (const summary of main.querySelectorAll('summary'))
    if (opened.includes(nameOf(summary))) summary.parentElement.open = true;
  if (focused !== null)
    [...main.querySelectorAll('a, button, summary, [tabindex]')]
      .find((element) => nameOf(element) === focused)
      ?.focus({ preventScroll: true });
  window.scrollTo({ top: scrollY, behavior: 'instant' });
  const links = next.querySelector('header nav');
  const shown = document.querySelector('header nav');
  if (links !== null && shown?.contains(activeElement) === false) shown.replaceWith(links);
  // Only what changed for a person is announced, not every refresh.
  const now = attentionText();
  if (now !== attention) status.textContent = `Attention: ${now}`;
  else if (status.textContent.startsWith('The worker')) status.textContent = '';
  attention = now;
}

function attentionText() {
  return document.querySelector('nav .count')?.textContent ?? 'nothing';
}

function readChoice() {
  try {
    const ms = Number(localStorage.getItem(stored) ?? choices[1][1]);
    return choices.some(([, one]) => one === ms) ? ms : choices[1][1];
  } catch {
    return choices[1][1];
  }
}
