// Updates a page while its run goes on. The server defines ROOT, RUN, ADDRESS and VERSION above this script.
//
// A browser opens at most six connections to a server, so one tab listens for all and tells the others.

let version = VERSION;
let wanted = VERSION;
let isRenewing = false;

/** Fetch and show the newest document if there is a newer one and the tab is visible. */
async function renew() {
  if (isRenewing || wanted === version || document.hidden) return;
  isRenewing = true;
  try {
    const answer = await fetch(`${ROOT}document/${ADDRESS}`);
    if (answer.ok) {
      behavesim.render(await answer.json());
      version = wanted = answer.headers.get("X-Version");
    } else if (answer.status === 503) setTimeout(renew, 1000 * answer.headers.get("Retry-After"));
  } finally {
    isRenewing = false;
  }
}

function hear(versions) {
  wanted = versions[RUN] ?? wanted;
  renew();
}

const home = Object.assign(document.createElement("a"), { href: ROOT, textContent: "All runs" });
document.getElementById("contents").prepend(home);

const others = new BroadcastChannel(`behavesim ${ROOT}`);
others.onmessage = (message) => hear(message.data);
document.addEventListener("visibilitychange", renew);

/** Listen to events while this tab is open; the promise never resolves, so the tab keeps the lock. */
function listen() {
  new EventSource(`${ROOT}events`).onmessage = (message) => {
    const versions = JSON.parse(message.data);
    others.postMessage(versions);
    hear(versions);
  };
  return new Promise(() => {});
}

if (navigator.locks) navigator.locks.request(`behavesim ${ROOT}`, listen);
else listen();
