// Keeps a page as new as its run. ROOT, RUN, ADDRESS and VERSION stand before it.
//
// A browser opens six connections to a server and no more, so that of all tabs one listens and tells the others.

let version = VERSION;
let wanted = VERSION;
let isRenewing = false;

/** Show the newest document, once there is a newer one and somebody looks. */
async function renew() {
  if (isRenewing || wanted === version || document.hidden) return;
  isRenewing = true;
  try {
    const answer = await fetch(`${ROOT}document/${ADDRESS}`);
    if (answer.ok) {
      behavesim.render(await answer.json());
      version = wanted = answer.headers.get("X-Version");
    }
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

/** Listen for as long as this tab is there. */
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
