// Shows how imports get on. The buttons keep the focus when they are drawn anew.
const live = document.getElementById("live");
const source = new EventSource("/events");
source.addEventListener("message", (event) => {
  const focused = live.contains(document.activeElement) ? document.activeElement.id : "";
  live.innerHTML = event.data;
  if (focused) document.getElementById(focused)?.focus();
});
addEventListener("pagehide", () => source.close());
