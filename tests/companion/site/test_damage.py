"""Bad artefacts: each is its own notebook's problem, by name; everything else is shown."""


def test_each_problem_stands_on_its_own_page_and_in_the_list(small):
    about = (small.site / "about.html").read_text()
    for name, complaint in small.says.items():
        page = (small.site / f"{name}.html").read_text()
        assert complaint in page.replace("&#39;", "'"), name
        assert f"{name}: " in about, name
        if name != "raj2017/failed":  # a notebook that failed is no fault of the site
            found = [p for p in small.problems if p.startswith(f"{name}: ") and complaint in p]
            assert found, name
    for name in ("liu2022/few_samples", "soleymani2025/attack", "soleymani2025/evil"):
        assert (small.site / f"{name}.html").is_file(), name
    marked = (small.site / "liu2022/few_samples.html").read_text()  # a byte order mark is read over
    assert "On few_samples" in marked  # and is no problem: see `test_pages`
    good = (small.site / "mroueh2015/xperm.html").read_text()
    assert "cannot be shown" not in good and "published, full scale" in good
    assert "-" * 1000 in (small.site / "guides/minus.html").read_text()


def test_no_script_gets_through(small, pages):
    for name, page in pages.items():
        assert page.bad == [], name
        bad = [s for s in page.scripts if "alert(" in s or s.startswith(("http", "//"))]
        assert bad == [], name
    evil = (small.site / "soleymani2025/evil.html").read_text()
    assert "&lt;script&gt;alert" in evil and "<![CDATA[" not in evil and "<![if" not in evil
