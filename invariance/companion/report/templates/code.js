(function () {
  "use strict";
  var blocks = Array.prototype.slice.call(document.querySelectorAll("details.code"));
  if (blocks.length < 2) { return; }
  var button = document.createElement("button");
  button.type = "button";
  button.className = "fold";
  function label() {
    var open = blocks.some(function (b) { return b.open; });
    button.textContent = open ? "Hide code" : "Show code";
    return open;
  }
  button.addEventListener("click", function () {
    var open = label();
    blocks.forEach(function (b) { b.open = !open; });
    label();
  });
  label();
  document.querySelector("main").insertBefore(button, document.querySelector("article"));
  window.addEventListener("beforeprint", function () {
    Array.prototype.forEach.call(document.querySelectorAll("details"), function (d) { d.open = true; });
  });
})();
