(function () {
  "use strict";
  var form = document.getElementById("filter");
  var rows = Array.prototype.slice.call(document.querySelectorAll("tr[data-verdict]"));
  var shown = document.getElementById("shown");
  function apply() {
    var paper = form.paper.value, verdict = form.verdict.value;
    var words = form.words.value.toLowerCase().split(/\s+/).filter(Boolean);
    var count = 0;
    rows.forEach(function (row) {
      var text = row.textContent.toLowerCase() + " " + row.id.toLowerCase();
      row.hidden = (paper && row.dataset.paper !== paper) ||
        (verdict && row.dataset.verdict !== verdict) ||
        !words.every(function (word) { return text.indexOf(word) >= 0; });
      if (!row.hidden) { count += 1; }
    });
    Array.prototype.forEach.call(document.querySelectorAll("section.paper"), function (section) {
      section.hidden = !section.querySelector("tr[data-verdict]:not([hidden])");
    });
    shown.textContent = count + " of " + rows.length + " claims shown";
  }
  form.addEventListener("input", apply);
  form.addEventListener("reset", function () { setTimeout(apply, 0); });
  form.addEventListener("submit", function (event) { event.preventDefault(); });
  form.hidden = false;
  apply();
  window.addEventListener("beforeprint", function () {
    Array.prototype.forEach.call(document.querySelectorAll("details"), function (d) { d.open = true; });
  });
})();
